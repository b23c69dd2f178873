// The parts of a call's texts that rules tell apart.

/** Who speaks in a text of a prompt. */
export const TEXT_PARTS = ['user', 'system', 'tool_result', 'assistant'] as const
export type TextPart = (typeof TEXT_PARTS)[number]

/** A part of a prompt, or the answer, which the assistant speaks. */
export type TextPlace = TextPart | 'answer'
export const TEXT_PLACES: readonly TextPlace[] = [...TEXT_PARTS, 'answer']

const BY_ROLE: ReadonlyMap<string, TextPart> = new Map([
  ['system', 'system'],
  ['developer', 'system'],
  ['tool', 'tool_result'],
  ['function', 'tool_result'],
  ['assistant', 'assistant'],
  ['model', 'assistant'],
])

/**
 * Returns the part of a text with a role. An unknown role may carry the words of a stranger.
 * @param role null for a text outside messages, such as a tool definition
 */
export const partOf = (role: string | null): TextPart =>
  role === null ? 'system' : (BY_ROLE.get(role) ?? 'user')
