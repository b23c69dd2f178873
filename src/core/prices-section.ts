// The section `prices` of the configuration's JSON Schema.

export const PRICES_SECTION = {
  description: 'What models cost. Omit it for no prices.',
  type: 'object',
  additionalProperties: false,
  required: ['path'],
  properties: {
    path: {
      description: 'A price file. Changes take effect at once.',
      type: 'string',
      minLength: 1,
    },
    unknownPrice: {
      description:
        'What a limit in USD does with a call to a model without a price: refuse it (`block`), or let it pass without a cost (`ignore`).',
      enum: ['block', 'ignore'],
      default: 'block',
    },
  },
} as const
