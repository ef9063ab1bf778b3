/** Topics and the patterns that select them. */

/**
 * What tests whether a topic is selected by `pattern`: `*` selects all, `session.*` all below `session` (not `session`
 * itself), anything else the topic of that very name.
 */
export function matcher(pattern: string): (topic: string) => boolean {
  if (pattern === "*") return () => true;
  if (!pattern.endsWith(".*")) return (topic) => topic === pattern;
  const above = pattern.slice(0, -1);
  return (topic) => topic.length > above.length && topic.startsWith(above);
}
