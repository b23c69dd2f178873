// Parts of the configuration's JSON Schema.

/** A reference to a secret. */
export const secret = (description: string) =>
  reference(
    `${description} A reference, never the value: {env: NAME} or {file: PATH}. A changed file is read again.`,
  )

/** A reference to an environment variable or a file. */
export const reference = (description: string) => ({
  description,
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  properties: {
    env: {
      description: 'Name of the environment variable: letters, digits and `_`, and no digit first.',
      type: 'string',
      pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
    },
    file: {
      description: 'Path of a file, relative to the folder of the configuration file.',
      type: 'string',
      minLength: 1,
    },
  },
})

/** A reference to a file. */
export const fileReference = (description: string) => {
  const { file } = reference(description).properties
  return {
    description,
    type: 'object',
    additionalProperties: false,
    required: ['file'],
    properties: { file },
  }
}

/** An address to listen on. */
export const address = (description: string, value: string) => ({
  description: `${description} \`host:port\`. Port 0 picks a free port; the first log line names it.`,
  type: 'string',
  pattern: '^(\\[[0-9a-fA-F:.]+\\]|[^\\[\\]:\\s]+):[0-9]{1,5}$',
  default: value,
})

export const integer = (description: string, minimum: number, maximum: number, value: number) => ({
  description,
  type: 'integer',
  minimum,
  maximum,
  default: value,
})

/** Parts of JSON Schema that the reader of the configuration uses. */
export interface SchemaNode {
  readonly [keyword: string]: unknown
  readonly description?: string
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly items?: SchemaNode
}

/** An object with these keys, each with its default. */
export const section = (
  description: string,
  properties: Record<string, SchemaNode>,
  required: string[] = [],
) => ({
  description,
  type: 'object',
  additionalProperties: false,
  default: {},
  properties,
  ...(required.length > 0 ? { required } : {}),
})
