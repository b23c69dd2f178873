// What the page knows of the gateway that it was built with. .build-console.ts makes the values.

export interface GatewayFacts {
  /** What a rule made on the page can be. */
  readonly ruleTypes: readonly RuleTypeFacts[]
  /** The fields of a rule besides its type and pattern, from the JSON Schema of rules. */
  readonly ruleFields: readonly RuleFieldFacts[]
  /** Kinds of personal data. */
  readonly piiKinds: readonly string[]
  /** Maximum past calls on which a rule is tried. */
  readonly maximumTriedCalls: number
  /** Paths of the APIs by their names. */
  readonly apiPaths: Readonly<Record<string, string>>
}

export interface RuleTypeFacts {
  readonly name: string
  /** How its pattern is asked for: as a text or as a list of one item a line. */
  readonly form: { readonly isList: boolean; readonly hint: string }
  /** Whether a rule counts calls, which past calls cannot show. */
  readonly isCounted: boolean
}

/** As `RuleFormField` of the gateway, whose code no browser runs. */
export interface RuleFieldFacts {
  /** As errors of the API name it: `match.models`. */
  readonly path: string
  readonly form: string
  readonly hint: string
  readonly isRequired: boolean
  /** Names of the two texts of each item. */
  readonly parts: readonly string[]
  /** What may be chosen, by the names of the types that have the field. */
  readonly types: Readonly<Record<string, readonly string[]>>
}

declare const GATEWAY_FACTS: GatewayFacts

export const {
  ruleTypes: RULE_TYPES,
  ruleFields: RULE_FIELDS,
  piiKinds: PII_KINDS,
  maximumTriedCalls: MAXIMUM_TRIED_CALLS,
  apiPaths: API_PATHS,
} = GATEWAY_FACTS
