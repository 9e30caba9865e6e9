import js from "@eslint/js";
import jsdoc from "eslint-plugin-jsdoc";
import globals from "globals";

const STATIC = "src/counterplay/studio/static";
const WIDGETS = "src/counterplay/display/widgets.js";

export default [
  { ignores: [`${STATIC}/vendor/`, "**/node_modules/", ".venv/", "docs/_build/"] },
  {
    files: ["eslint.config.js", `${STATIC}/**/*.js`, WIDGETS],
    rules: {
      ...js.configs.recommended.rules,
      curly: ["error", "multi-line"],
      eqeqeq: "error",
      "no-var": "error",
      "object-shorthand": "error",
      "one-var": ["error", "never"],
      "prefer-const": "error",
    },
  },
  {
    files: [`${STATIC}/**/*.js`, WIDGETS],
    languageOptions: { globals: globals.browser },
    plugins: { jsdoc },
    rules: {
      "jsdoc/require-jsdoc": [
        "error",
        {
          publicOnly: true,
          require: { ArrowFunctionExpression: true, FunctionDeclaration: true },
        },
      ],
      "jsdoc/require-param-type": "error",
      "jsdoc/require-returns-type": "error",
    },
  },
];
