/** Plugin events: the event bus and /eventwait. */
import { definePlugin, Root } from "#core";
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
  },
});
