/** Plugin events: the event bus and /eventwait. */
import { definePlugin, fault, messageOf, Root } from "#core";
import { eventwait } from "./files.ts";
import { eventBus } from "./service.ts";
import { Events } from "./types.ts";

export default definePlugin({
  name: "events",
  doc: "Events by dotted topics, and the file eventwait that scripts read them from.",
  provides: [Events],
  setup(api) {
    const events = eventBus();
    api.provide(Events, events);
    api.mount(Root, eventwait(events));
    // `where` is a file's path, or a place in the plugin, which has an error file.
    api.on(fault, (plugin, where, error) => {
      const at = where.startsWith("/") ? where.slice(1) : `plugins/${plugin} ${where}:`;
      events.publish("fault", `E ${at} ${messageOf(error)}`);
    });
  },
});
