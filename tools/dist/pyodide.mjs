// Runs the shared suite inside Pyodide, against a wheel that is installed from a file:
//   node pyodide.mjs DIRECTORY_WITH_NODE_MODULES WHEELS TREE
// WHEELS holds the wheel and what the tests need; TREE is an unpacked sdist.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [home, wheels, tree] = process.argv.slice(2);
const module = path.join(home, "node_modules", "pyodide", "pyodide.mjs");
const { loadPyodide } = await import(pathToFileURL(module));
const python = await loadPyodide();
const extractDir = python.runPython("__import__('sysconfig').get_path('purelib')");
for (const name of fs.readdirSync(wheels)) {
  const bytes = new Uint8Array(fs.readFileSync(path.join(wheels, name)));
  await python.unpackArchive(bytes, "wheel", { extractDir });
}
python.FS.mkdirTree("/tree");
python.mountNodeFS("/tree", tree);
const code = python.runPython(`
import runpy, sys
sys.argv = ["/tree/tools/test_installed.py", "pure", "-q"]
print("Python", sys.version.split()[0], "in Pyodide", __import__("pyodide").__version__)
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
    code = 1
except SystemExit as exit:
    code = exit.code if isinstance(exit.code, int) else 1
    if not isinstance(exit.code, int):
        print(exit.code)
code
`);
process.exit(code);
