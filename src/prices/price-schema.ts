// Describes price files as a JSON Schema (2020-12). config/prices.schema.json is its copy for
// editors.

import { MAX_GLOB_CHARACTERS } from '../policy/glob.ts'

/** Lines of a price file. */
const MAX_PRICE_LINES = 2000
/** A number of JSON holds any price up to this with all of its nine decimals. */
const MAX_PRICE_USD = 1_000_000

const price = (unit: string) => ({
  description: `USD ${unit}. A plain number such as 1.25, with at most nine decimals; no unit or currency.`,
  type: 'number',
  minimum: 0,
  maximum: MAX_PRICE_USD,
})

const PRICE_SCHEMA = {
  description: 'The prices of the models that the glob matches.',
  type: 'object',
  additionalProperties: false,
  required: ['input', 'output'],
  properties: {
    input: price('for a million tokens of the prompt'),
    cachedInput: price(
      'for a million tokens of the prompt that the provider had in its cache (as `input` by default)',
    ),
    output: price(
      'for a million tokens of the answer (0 for models without a text as answer, such as embeddings)',
    ),
    reasoning: price(
      'for a million tokens of the answer that the model did not show (as `output` by default)',
    ),
    request: { ...price('for each call'), default: 0 },
    image: { ...price('for each image of the prompt'), default: 0 },
  },
}

export const PRICES_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Sidegate prices',
  description: 'What models cost, in USD for a million tokens, and for a call or an image.',
  type: 'object',
  additionalProperties: false,
  required: ['prices'],
  properties: {
    prices: {
      description:
        'Prices by glob over the names of models, as calls name them. `*` matches any characters, `?` matches one, and case counts. The first glob that matches wins.',
      type: 'object',
      maxProperties: MAX_PRICE_LINES,
      propertyNames: { minLength: 1, maxLength: MAX_GLOB_CHARACTERS },
      additionalProperties: PRICE_SCHEMA,
    },
  },
}
