// Where a value stands in a body, as a chain that costs one object a container and is spelt out only when asked for.
// Names of members are content too: only harmless ones are ever shown.

/** A container's place: the one it stands in and the key or index it has there; null is the body itself. */
export interface PathNode {
  readonly parent: PathNode | null
  readonly key: string | number
}

/** Names that can be shown: short identifiers without long runs of digits; anything else may be personal data. */
const SHOWABLE = /^[A-Za-z_$][\w$-]{0,39}$/
const LONG_NUMBER = /\d{4}/
/** As long as the shortest credential, with a digit as all have. */
const TOKEN = /^(?=.*\d).{16}/

/** `messages[0].content[1].text`; a member whose name is no plain identifier appears as `['…']`. */
export function pathOf(parent: PathNode | null, key: string | number): string {
  const keys: (string | number)[] = [key]
  for (let node = parent; node !== null; node = node.parent) keys.push(node.key)
  return formatPath(keys.reverse())
}

/** The same from a list of keys, outermost first; empty for the body itself. */
export function formatPath(keys: readonly (string | number)[]): string {
  let path = ''
  for (const key of keys) {
    if (typeof key === 'number') path += `[${key}]`
    else if (!SHOWABLE.test(key) || LONG_NUMBER.test(key) || TOKEN.test(key)) path += "['…']"
    else path += path === '' ? key : `.${key}`
  }
  return path
}
