// Describes files of rule tests as a JSON Schema (2020-12). config/rules-test.schema.json is its
// copy for editors.

import { APIS } from '../chat/apis.ts'
import { PII_KINDS } from '../core/finding.ts'

/** What happens to a tool: the strongest of these. */
const TOOL_OUTCOMES = ['refused', 'called', 'defined'] as const
export type ToolOutcome = (typeof TOOL_OUTCOMES)[number]

/** Maximum cases in one file. */
const MAXIMUM_CASES_A_FILE = 10_000

const countOf = (kind: string) => ({
  description: `Number of findings of ${kind}.`,
  type: 'integer',
  minimum: 1,
  maximum: 1_000_000,
})

const counts = Object.fromEntries(PII_KINDS.map((kind) => [kind, countOf(`the kind ${kind}`)]))

const EXPECT_SCHEMA = {
  description: 'The expected outcome. Only the fields that are present are compared.',
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  properties: {
    decision: {
      description:
        'block: the call or its answer is refused. monitor: the call passes, and a rule with the action monitor fires. allow: the call passes, and no such rule fires.',
      enum: ['allow', 'monitor', 'block'],
    },
    rule: {
      description: 'Name of the rule that refuses the call, or, if none does, of a rule that fires.',
      type: 'string',
    },
    rules: {
      description: 'Names of all rules that fire, in any order; an empty list for none.',
      type: 'array',
      items: { description: 'Name of a rule.', type: 'string' },
    },
    redacted: {
      description:
        'The text the model would see: the texts of all messages, separated by line breaks. For other APIs than chat, all texts that have a speaker.',
      type: 'string',
    },
    answer: {
      description:
        'The text the client would see: the content of the first choice; for other APIs than chat, all texts of the answer, separated by line breaks.',
      type: 'string',
    },
    tools: {
      description:
        'What happens to tools, by their names: refused (its definition is denied or removed, or a call of it is refused), called or defined. Only the tools that are named are compared.',
      type: 'object',
      minProperties: 1,
      additionalProperties: { description: 'What happens to the tool.', enum: [...TOOL_OUTCOMES] },
    },
    findings: {
      description:
        'Number of findings in prompt and answer together, by kind. Every kind that is found must be listed.',
      type: 'object',
      properties: counts,
      additionalProperties: countOf('a kind that a rule or the configuration defines'),
    },
  },
}

export const CASES_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Tests of Sidegate policy rules',
  description: 'Requests and answers with their expected outcomes under the rules next to this file.',
  type: 'object',
  additionalProperties: false,
  required: ['tests'],
  properties: {
    rules: {
      description:
        'Rule files or folders to test, relative to this file. Default: all rule files of the same folder.',
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
      maxItems: MAXIMUM_CASES_A_FILE,
      items: {
        description: 'One case: either `text` or `request`.',
        type: 'object',
        additionalProperties: false,
        required: ['name', 'expect'],
        properties: {
          name: {
            description: 'What the case shows; unique in the file.',
            type: 'string',
            minLength: 1,
            maxLength: 256,
          },
          text: { description: 'The content of one user message.', type: 'string' },
          request: { description: 'A whole request body of the API.', type: 'object' },
          api: {
            description: 'The API that is called. For any but chat, `request` and `answer` are whole bodies.',
            enum: APIS.map(({ name }) => name),
            default: 'chat',
          },
          key: {
            description: 'Name of the API key that makes the call.',
            type: 'string',
            minLength: 1,
            default: 'test',
          },
          labels: {
            description: 'Labels of the API key, by their names.',
            type: 'object',
            additionalProperties: { type: 'string' },
          },
          model: {
            description: 'The requested model. A `model` in `request` takes precedence.',
            type: 'string',
            minLength: 1,
            default: 'test-model',
          },
          answer: {
            description:
              'The answer of the model: a text, a whole answer of the API, or for chat `tool_calls` alone, each with `name` and `arguments`. The test also streams it, cut at random, and expects the same outcome.',
            type: ['string', 'object'],
          },
          expect: EXPECT_SCHEMA,
        },
      },
    },
  },
}
