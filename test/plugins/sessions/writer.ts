/** A program that writes note after note into a session and says each one that is on disk, until it is killed. */
import { writeSync } from "node:fs";
import { createKernel, definePlugin } from "#core";
import { Sessions } from "#plugins/sessions";
import sessions from "../../../plugins/sessions/index.ts";
import { notesPart } from "./part.ts";

let service: Sessions | undefined;
const part = notesPart(() => service as Sessions);
const notes = definePlugin({
  name: "notes",
  doc: "A part of sessions.",
  needs: [Sessions],
  async setup(api) {
    service = api.use(Sessions);
    api.defer(await service.part(part));
  },
});
await createKernel({ plugins: [sessions({ dir: process.argv[2] as string }), notes()] }).start();
const all = service as unknown as Sessions;
const session = all.get("work") ?? all.create({ name: "work" });
all.ready(session);
for (let n = part.notes.get(session.id)?.length ?? 0; ; n++) {
  if (n % 5 === 4) void all.save(session);
  await part.add(session, `${n}`);
  writeSync(1, `${n}\n`);
}
