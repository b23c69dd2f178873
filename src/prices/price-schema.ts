// Describes price files as a JSON Schema (2020-12). config/prices.schema.json is its copy for
// editors.

import { MAXIMUM_GLOB_CHARACTERS } from '../policy/glob.ts'

/** Lines of a price file. */
const MAXIMUM_PRICE_LINES = 2000
/** A number of JSON holds any price up to this with all of its nine decimals. */
const MAXIMUM_PRICE_USD = 1_000_000

const MAXIMUM_ABOVE_TOKENS = 1_000_000_000
/** Service tiers of one model, and characters of the name of one. */
const MAXIMUM_TIERS = 16
const MAXIMUM_TIER_CHARACTERS = 64

const price = (unit: string) => ({
  description: `USD ${unit}. A plain number such as 1.25, with at most nine decimals; no unit or currency.`,
  type: 'number',
  minimum: 0,
  maximum: MAXIMUM_PRICE_USD,
})

const TOKEN_PRICES = {
  input: price('for a million tokens of the prompt'),
  cachedInput: price(
    'for a million tokens of the prompt that the provider had in its cache (as `input` by default)',
  ),
  cacheWrite: price(
    'for a million tokens of the prompt that the provider wrote into its cache (as `input` by default)',
  ),
  cacheWrite1h: price(
    'for a million tokens that it wrote into its cache for an hour (as `cacheWrite` by default)',
  ),
  audioInput: price('for a million tokens of sound in the prompt (as `input` by default)'),
  output: price(
    'for a million tokens of the answer (0 for models without a text as answer, such as embeddings)',
  ),
  reasoning: price('for a million tokens of the answer that the model did not show (as `output` by default)'),
  audioOutput: price('for a million tokens of sound in the answer (as `output` by default)'),
}

const priceObject = (description: string, required: readonly string[], properties: object) => ({
  description,
  type: 'object',
  additionalProperties: false,
  required,
  properties,
})

const TIER_PRICES = {
  ...TOKEN_PRICES,
  above: priceObject(
    'The prices of all tokens of a call with a longer prompt.',
    ['tokens', 'input', 'output'],
    {
      tokens: {
        description: 'Tokens of the prompt above which these prices apply.',
        type: 'integer',
        minimum: 1,
        maximum: MAXIMUM_ABOVE_TOKENS,
      },
      ...TOKEN_PRICES,
    },
  ),
}

const PRICE_SCHEMA = priceObject('The prices of the models that the glob matches.', ['input', 'output'], {
  ...TIER_PRICES,
  tiers: {
    description:
      'Prices by service tier, such as `flex` and `priority`: those of calls whose answer names it in `service_tier`.',
    type: 'object',
    maxProperties: MAXIMUM_TIERS,
    propertyNames: { minLength: 1, maxLength: MAXIMUM_TIER_CHARACTERS },
    additionalProperties: priceObject('The prices of the tier.', ['input', 'output'], TIER_PRICES),
  },
  request: { ...price('for each call'), default: 0 },
  image: { ...price('for each image of the prompt'), default: 0 },
})

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
      maxProperties: MAXIMUM_PRICE_LINES,
      propertyNames: { minLength: 1, maxLength: MAXIMUM_GLOB_CHARACTERS },
      additionalProperties: PRICE_SCHEMA,
    },
  },
}
