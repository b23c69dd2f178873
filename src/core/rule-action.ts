// What a rule can do to a call, as rules, entries and documents name it.

/**
 * The actions, strictest first. `remove` takes the definition of a tool out of the request.
 * `restore` is a reversible `redact`: the model sees placeholders, and the client gets the values
 * that it sent back in the answer. `pseudonym` names a value alike in every call.
 */
export const RULE_ACTIONS = ['block', 'remove', 'redact', 'restore', 'pseudonym', 'monitor', 'allow'] as const
export type RuleAction = (typeof RULE_ACTIONS)[number]
