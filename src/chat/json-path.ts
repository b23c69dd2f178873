// Represents the place of a value in a body as a chain of nodes, one object for each container, and
// formats it on demand. Member names may be personal data, so only harmless ones are shown.

/** A container: its own container and its key or index there. Null stands for the body. */
export interface PathNode {
  readonly parent: PathNode | null
  readonly key: string | number
}

/** Names that are shown: short identifiers. Others may be personal data. */
const SHOWABLE = /^[A-Za-z_$][\w$-]{0,39}$/
const LONG_NUMBER = /\d{4}/
/** As long as the shortest credential, with a digit, as all credentials have. */
const TOKEN = /^(?=.*\d).{16}/

/**
 * The member of the body that a container lies in, or the item of it when that member is a list:
 * one tool of `tools`. The same object for each container in it; null for the body.
 */
export function ownerOf(node: PathNode | null): PathNode | null {
  let item: PathNode | null = null
  let member = node
  while (member !== null && member.parent !== null) {
    item = member
    member = member.parent
  }
  return typeof item?.key === 'number' ? item : member
}

/** Formats a path: `messages[0].content[1].text`. A name that is not shown becomes `['…']`. */
export function pathOf(parent: PathNode | null, key: string | number): string {
  const keys: (string | number)[] = [key]
  for (let node = parent; node !== null; node = node.parent) keys.push(node.key)
  return formatPath(keys.reverse())
}

/** Formats a list of keys, outermost first; '' for the body. */
export function formatPath(keys: readonly (string | number)[]): string {
  let path = ''
  for (const key of keys) {
    if (typeof key === 'number') path += `[${key}]`
    else if (!SHOWABLE.test(key) || LONG_NUMBER.test(key) || TOKEN.test(key)) path += "['…']"
    else path += path === '' ? key : `.${key}`
  }
  return path
}
