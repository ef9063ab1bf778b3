// What a row made and has to go again, however the row ends: by its last round, by an error (in its setup too), by Ctrl-C.
const undos = [];

/** `undo` runs when the row is over, last in first out. It may have been done before. */
export const atEnd = (undo) => void undos.push(undo);

export async function cleanUp() {
  for (let undo = undos.pop(); undo; undo = undos.pop())
    try {
      await undo();
    } catch (error) {
      process.stderr.write(`clean up: ${error.message}\n`);
    }
}
