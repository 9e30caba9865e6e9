"""Archives: every fault is found before the contents are used."""

from __future__ import annotations

import io
import json
import os
import zipfile

import numpy as np
import pytest
from benchmarks.robustness import damaged_files

import counterplay as cp
from counterplay.core import archive as files
from counterplay.core.archive import read_archive, write_archive
from counterplay.errors import RunError
from tests.conftest import run_benchmark

VALUES = {
    "flat": np.arange(5.0),
    "fortran": np.asfortranarray(np.arange(6, dtype=np.int8).reshape(2, 3)),
    "empty": np.zeros((0, 3), np.uint16),
    "single": np.array(True),
    "words": ("a", "ü", "\ud800"),
    "nested": {"x": [1, 2.5, None]},
}


@pytest.mark.parametrize("compress", [True, False])
def test_round_trip(tmp_path, compress):
    write_archive(tmp_path / "a", "numbers", VALUES, compress=compress)
    found = read_archive(tmp_path / "a", "numbers")
    assert found.keys() == VALUES.keys()
    for name, value in VALUES.items():
        if isinstance(value, np.ndarray):
            assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape)
            assert found[name].flags.f_contiguous == value.flags.f_contiguous
            assert found[name].flags.writeable and found[name].flags.aligned
            assert found[name].tobytes() == value.tobytes()
        else:
            assert found[name] == value
    first = (tmp_path / "a").read_bytes()
    write_archive(tmp_path / "a", "numbers", VALUES, compress=compress)
    assert (tmp_path / "a").read_bytes() == first


def archive(entries, method=zipfile.ZIP_DEFLATED):
    """The bytes of an archive: entries are arrays, or bytes as they are."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as opened:
        for name, entry in entries:
            stream = io.BytesIO()
            if isinstance(entry, bytes):
                stream.write(entry)
            else:
                np.lib.format.write_array(stream, entry)
            opened.writestr(f"{name}.npy", stream.getvalue())
    return file.getvalue()


HEADER = np.frombuffer(json.dumps({"format": "numbers", "values": {}}).encode(), np.uint8)


def npy(description, data=b""):
    """An array as NumPy writes it, with any description."""
    text = str(description).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (
            npy({"descr": "<f8", "fortran_order": False, "shape": (10**12,)}),
            "is not the one it declares",
        ),
        (npy({"descr": "<f8", "fortran_order": False, "shape": (-1,)}), "not an array of numbers"),
        (npy({"descr": "|O", "fortran_order": False, "shape": (1,)}), "not an array of numbers"),
        (npy({"descr": ">f8", "fortran_order": False, "shape": (1,)}, bytes(8)), "not an array"),
        (npy({"descr": "<U2", "fortran_order": False, "shape": (1,)}, bytes(8)), "not an array"),
        (npy("[" * 100), "ValueError|Error"),
        (b"", "ValueError"),
        (b"\x93NUMPY\x09\x00", "KeyError|ValueError"),
    ],
)
def test_odd_entries(tmp_path, entry, problem):
    (tmp_path / "a").write_bytes(archive([("header", HEADER), ("x", entry)]))
    with pytest.raises(RunError, match=rf"^cannot read .*damaged, or not .*\(.*({problem})"):
        read_archive(tmp_path / "a", "numbers")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_odd_archives(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(archive([("header", HEADER), ("x", np.zeros(1)), ("x", np.zeros(1))]))
    with pytest.raises(RunError, match="two entries have the same name"):
        read_archive(path, "numbers")
    path.write_bytes(archive([("header", HEADER)], zipfile.ZIP_BZIP2))
    with pytest.raises(RunError, match="compressed in an unknown way"):
        read_archive(path, "numbers")
    deep = json.dumps({"format": "numbers", "values": {}})[:-2] + "[" * 100_000
    path.write_bytes(archive([("header", np.frombuffer(deep.encode(), np.uint8))]))
    with pytest.raises(RunError, match="damaged"):
        read_archive(path, "numbers")


def test_what_unpacks_to_far_too_much_is_not_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "a"
    monkeypatch.setattr(files, "MIN_UNPACK_LIMIT_BYTES", 1 << 20)
    path.write_bytes(archive([("header", HEADER), ("x", np.zeros(1 << 20))]))
    assert path.stat().st_size < 1 << 14
    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("it was opened"))
        with pytest.raises(RunError, match=r"[\d,]+ bytes would unpack to 8,388,"):
            read_archive(path, "numbers")
    lying = archive([("header", HEADER), ("x", np.zeros(1 << 20))])
    place = lying.rindex(b"PK\x01\x02") + 24  # the length that the directory declares
    path.write_bytes(lying[:place] + (10_000).to_bytes(4, "little") + lying[place + 4 :])
    with pytest.raises(RunError, match="damaged"):
        read_archive(path, "numbers")


def test_what_is_written_can_be_read(tmp_path, monkeypatch):
    """Equal numbers shrink a thousandfold: such files are not compressed, lest they look wrong."""
    monkeypatch.setattr(files, "MIN_UNPACK_LIMIT_BYTES", 1 << 10)
    for size in (100, 10_000, 100_000):
        write_archive(tmp_path / "a", "numbers", {"x": np.zeros(size)})
        assert read_archive(tmp_path / "a", "numbers")["x"].size == size
    assert os.path.getsize(tmp_path / "a") > 800_000


def without_checksum(path):
    """The file as it was written before there were checksums."""
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays["header"].tobytes())
    del header["sha256"]
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with open(path, "wb") as file:
        np.savez_compressed(file, **arrays)


def test_older_files_still_load(kuhn, tmp_path):
    kuhn.save(tmp_path / "tree")
    policy = cp.random_policy(kuhn, seed=1)
    policy.save(tmp_path / "policy")
    for name in ("tree", "policy"):
        without_checksum(tmp_path / name)
    tree = cp.load_tree(tmp_path / "tree")
    again = cp.load_policy(tmp_path / "policy", tree)
    assert again.probabilities.tobytes() == policy.probabilities.tobytes()


def test_the_checksum_covers_everything(tmp_path):
    """A changed entry with an unchanged checksum is detected, for every entry."""
    path = tmp_path / "a"
    write_archive(path, "numbers", VALUES)
    with np.load(path) as opened:
        whole = dict(opened)
    header = json.loads(whole["header"].tobytes())
    changes = [{"flat": whole["flat"][::-1]}, {"flat": whole["flat"].view(np.int64)}]
    changes += [{"empty": np.zeros((3, 0), np.uint16)}, {"more": np.zeros(1)}]
    for values in ({"words": []}, header["values"] | {"nested": {"x": [1, 2.5, 0]}}):
        text = json.dumps(header | {"values": values})
        changes.append({"header": np.frombuffer(text.encode(), np.uint8)})
    for change in changes:
        with open(path, "wb") as file:
            np.savez(file, **(whole | change))
        with pytest.raises(RunError, match="its contents do not match its checksum"):
            read_archive(path, "numbers")


def test_altered_files_are_refused_or_harmless():
    """A small part of `make attack`: no crash, no traceback, no silent change.

    A game named in a file may be a Python file, whose code runs: that is counted elsewhere.
    """
    *kinds, total = run_benchmark("robustness.damaged_files", "--count", 300, "--seed", 10**6)
    assert [line["kind"] for line in kinds] == list(damaged_files.KINDS)
    assert total["refused"] > 150
    assert sum(total[name] for name in damaged_files.OUTCOMES) == 300
    for line in kinds:
        for name in damaged_files.FAILURES:
            assert line[name] == 0, line


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_unexpected_members_are_not_unpacked(tmp_path, monkeypatch):
    """Neither thousands of them nor one that the header does not list."""
    path = tmp_path / "a"
    write_archive(path, "numbers", VALUES)
    whole = path.read_bytes()
    opened, open_member = [], zipfile.ZipFile.open

    def note(self, entry, *options, **more):
        opened.append(entry)
        return open_member(self, entry, *options, **more)

    monkeypatch.setattr(zipfile.ZipFile, "open", note)
    path.write_bytes(damaged_files.add_many_members(whole))
    opened.clear()
    with pytest.raises(RunError, match=r"30,00\d members, at most 10,000"):
        read_archive(path, "numbers")
    assert opened == []
    monkeypatch.setattr(damaged_files, "MANY_MEMBERS", 1)
    path.write_bytes(damaged_files.add_many_members(whole))
    opened.clear()
    with pytest.raises(RunError, match="its members differ"):
        read_archive(path, "numbers")
    assert [entry.filename for entry in opened] == ["header.npy"]


def test_too_many_arrays_are_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_MEMBERS", 3)
    write_archive(tmp_path / "a", "numbers", {"x": np.zeros(1), "y": np.zeros(1)})
    assert set(read_archive(tmp_path / "a", "numbers")) == {"x", "y"}
    with pytest.raises(RunError, match="more than 3 arrays"):
        write_archive(tmp_path / "b", "numbers", {name: np.zeros(1) for name in "xyz"})
    assert not (tmp_path / "b").exists()
