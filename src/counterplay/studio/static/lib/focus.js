// Movement between the cells of a table by arrow keys.

/**
 * @param {HTMLTableCellElement} cell
 * @param {string} key of a keyboard event
 * @returns {Element | null | undefined} the adjacent cell; nothing at the edge of the table or if
 *   the key is not an arrow key
 */
export function adjacentCell(cell, key) {
  const row = cell.parentElement;
  if (key === "ArrowLeft") return cell.previousElementSibling;
  if (key === "ArrowRight") return cell.nextElementSibling;
  if (key === "ArrowUp") return row.previousElementSibling?.children[cell.cellIndex];
  if (key === "ArrowDown") return row.nextElementSibling?.children[cell.cellIndex];
  return null;
}
