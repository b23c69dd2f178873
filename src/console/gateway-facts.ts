// What the page knows of the gateway that it was built with. .build-console.ts makes the values.

export interface GatewayFacts {
  /** What a rule made on the page can be. */
  readonly ruleTypes: readonly RuleTypeFacts[]
  /** Kinds of personal data. */
  readonly piiKinds: readonly string[]
  /** Paths of the APIs by their names. */
  readonly apiPaths: Readonly<Record<string, string>>
}

export interface RuleTypeFacts {
  readonly name: string
  /** The most common first; none for a type that takes no action. */
  readonly actions: readonly string[]
  /** How its pattern is asked for: as a text or as a list of one item a line. */
  readonly form: { readonly isList: boolean; readonly hint: string }
  /** Whether the form asks which calls share a count. */
  readonly isCounted: boolean
  /** Whether the form asks which arguments and results narrow a rule. */
  readonly narrowsTools: boolean
  /** The fields of values that a rule may have: `kind`, `context`, `checksum` and others. */
  readonly valueFields: readonly string[]
  /** The directions that a rule may be bound to; none for a type that concerns the whole call. */
  readonly directions: readonly string[]
  /** The parts of a call whose texts a rule may look at; none for a type that looks at no text. */
  readonly parts: readonly string[]
  /** The ways to write what it replaces; none for a type that replaces nothing. */
  readonly placeholders: readonly string[]
}

declare const GATEWAY_FACTS: GatewayFacts

export const { ruleTypes: RULE_TYPES, piiKinds: PII_KINDS, apiPaths: API_PATHS } = GATEWAY_FACTS
