// The shape of a file of rule tests as a JSON Schema (2020-12), the manual of its keys; config/rules-test.schema.json
// is its copy for editors.

import { PII_KINDS } from '../core/finding.ts'

/** Cases in one file; more are split over several. */
const MAX_CASES_A_FILE = 10_000

const counts = Object.fromEntries(
  PII_KINDS.map((kind) => [
    kind,
    { description: `How many pieces of the kind ${kind}.`, type: 'integer', minimum: 1, maximum: 1_000_000 },
  ]),
)

const EXPECT_SCHEMA = {
  description: 'What is to come out. Whatever is not named is not looked at.',
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  properties: {
    decision: {
      description:
        'block: the call or its answer is refused. monitor: it passes, and a rule with the action monitor fired. allow: it passes, and none did.',
      enum: ['allow', 'monitor', 'block'],
    },
    rule: {
      description: 'Name of the rule that refuses the call; of one that fires, where none refuses it.',
      type: 'string',
    },
    rules: {
      description: 'Names of all rules that fire, in any order; an empty list for none.',
      type: 'array',
      items: { description: 'Name of a rule.', type: 'string' },
    },
    redacted: {
      description: 'The text the model would see: the text of all messages, a line break between two.',
      type: 'string',
    },
    answer: { description: "The text the client would see: the first choice's content.", type: 'string' },
    findings: {
      description:
        'Personal data found in prompt and answer together, by kind; every kind that is found is named.',
      type: 'object',
      additionalProperties: false,
      properties: counts,
    },
  },
}

export const CASES_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Tests of Sidegate policy rules',
  description: 'Requests and answers, and what the rules beside this file are to make of them.',
  type: 'object',
  additionalProperties: false,
  required: ['tests'],
  properties: {
    rules: {
      description:
        'Rule files or folders to test, as seen from this file. Without it all rule files of the same folder.',
      type: 'array',
      minItems: 1,
      items: {
        description: 'Path of a rule file, a folder or a ConfigMap manifest.',
        type: 'string',
        minLength: 1,
      },
    },
    tests: {
      description: 'The cases.',
      type: 'array',
      maxItems: MAX_CASES_A_FILE,
      items: {
        description: 'One case: either `text` or `request`.',
        type: 'object',
        additionalProperties: false,
        required: ['name', 'expect'],
        properties: {
          name: { description: 'What the case shows.', type: 'string', minLength: 1, maxLength: 256 },
          text: { description: 'What one user message says.', type: 'string' },
          request: { description: 'A whole chat request body.', type: 'object' },
          key: {
            description: 'Name of the API key that asks.',
            type: 'string',
            minLength: 1,
            default: 'test',
          },
          model: {
            description: 'Model that is asked for; a request that names one itself keeps it.',
            type: 'string',
            minLength: 1,
            default: 'test-model',
          },
          answer: {
            description:
              'What the model answers: a text, or a whole chat completion. It is also streamed, cut at random, and must come out the same.',
            type: ['string', 'object'],
          },
          expect: EXPECT_SCHEMA,
        },
      },
    },
  },
}
