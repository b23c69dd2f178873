// Describes rule files as a JSON Schema (2020-12). config/rules.schema.json is its copy for
// editors. What depends on several keys (action by type, pattern by type) is checked by
// policy/parse-rule.

import { API_NAMES } from '../chat/apis.ts'
import { MAXIMUM_KIND_CHARACTERS } from '../core/finding.ts'
import { LEGIBLE } from '../core/hidden-characters.ts'
import { NAMESPACES_SCHEMA, TERM_SCHEMAS } from '../core/key-terms.ts'
import { PLACEHOLDER_STYLES, STYLES } from '../core/placeholder-style.ts'
import { RULE_ACTIONS } from '../core/rule-action.ts'
import { TEXT_PARTS } from '../core/text-part.ts'
import { CHECKSUM_FORMS, CHECKSUMS } from '../detect/pii/pattern-checksums.ts'
import { MAXIMUM_GLOB_CHARACTERS } from '../policy/glob.ts'
import type { RuleType } from '../policy/rule-type.ts'
import { RULE_TYPES, typeNames } from '../policy/rule-types.ts'
import {
  MAXIMUM_CONTEXT_CHARACTERS,
  MAXIMUM_CONTEXT_WORDS,
  MAXIMUM_EXCEPTIONS,
  type ValueField,
} from '../policy/value-fields.ts'

/** Maximum rules in one file. */
const MAXIMUM_RULES_A_FILE = 10_000
const MAXIMUM_NAME_CHARACTERS = 128
const MAXIMUM_DESCRIPTION_CHARACTERS = 2000
/** Code points; keyword/pattern-index bounds UTF-16 units by the same number. */
const MAXIMUM_PATTERN_CHARACTERS = 65_536
const MAXIMUM_GLOBS = 100

/** An expression is compiled with a beginning and an end of its own. */
const MAXIMUM_EXCEPTION_CHARACTERS = 2000

const MAXIMUM_ARGUMENTS = 16
const MAXIMUM_POINTER_CHARACTERS = 256

const TOOLS = typeNames(({ narrowsTools }) => narrowsTools === true)

const fieldOwners = (field: ValueField): string =>
  typeNames(({ valueFields }) => valueFields?.includes(field))

const globs = (description: string) => ({
  description: `${description} \`*\` matches any characters, \`?\` matches one. One matching glob is enough.`,
  type: 'array',
  minItems: 1,
  maxItems: MAXIMUM_GLOBS,
  items: { description: 'A glob.', type: 'string', minLength: 1, maxLength: MAXIMUM_GLOB_CHARACTERS },
})

/** A sentence for each type. */
const byType = (say: (type: RuleType) => string): string =>
  RULE_TYPES.map((type) => `${type.name}: ${say(type)}.`).join(' ')

/** One rule, as files and the API write it. */
export const RULE_SCHEMA = {
  description: 'One policy rule.',
  type: 'object',
  additionalProperties: false,
  required: ['name', 'type'],
  properties: {
    name: {
      description: `Unique across all files, ignoring case and Unicode form; shown to clients and in the usage log. It must have ${LEGIBLE}.`,
      type: 'string',
      minLength: 1,
      maxLength: MAXIMUM_NAME_CHARACTERS,
      pattern: '^[^\\p{C}\\s]([^\\p{C}\\p{Zl}\\p{Zp}]*[^\\p{C}\\s])?$',
    },
    type: {
      description: byType(({ checks }) => checks),
      enum: RULE_TYPES.map(({ name }) => name),
    },
    pattern: {
      description: byType(({ writing }) => writing),
      type: ['string', 'array'],
      maxLength: MAXIMUM_PATTERN_CHARACTERS,
      maxItems: MAXIMUM_GLOBS,
      items: { description: 'A glob.', type: 'string', minLength: 1, maxLength: MAXIMUM_GLOB_CHARACTERS },
      default: '',
    },
    per: {
      description: `For ${typeNames(({ isCounted }) => isCounted === true)}, the calls that share one count: those of one key and its successors (\`key\`, the default), of all keys (\`all\`), of keys with the same value of a label (\`label:team\`; keys without the label share one), of one run of an agent (\`run\`), or of one end user (\`user\`); the calls of a key without a run or a user share one.`,
      type: 'string',
      pattern: '^(key|all|run|user|label:[^\\p{C}]{1,64})$',
    },
    arguments: {
      description: `For ${TOOLS}, narrows the rule to calls of the refused tools whose arguments all match. Arguments that are not JSON, or longer than 256 KiB, match.`,
      type: 'array',
      minItems: 1,
      maxItems: MAXIMUM_ARGUMENTS,
      items: {
        description: 'A place in the arguments, and what it has to hold.',
        type: 'object',
        additionalProperties: false,
        required: ['path', 'pattern'],
        properties: {
          path: {
            description:
              'A JSON pointer; `*` is any member or element, such as `/command` or `/files/*/path`. Every string, number and boolean there counts, and the elements of a list also as one line with blanks between; empty for all.',
            type: 'string',
            maxLength: MAXIMUM_POINTER_CHARACTERS,
          },
          pattern: {
            description: 'A regular expression in RE2 syntax, read as in keyword_block rules.',
            type: 'string',
            minLength: 1,
            maxLength: MAXIMUM_PATTERN_CHARACTERS,
          },
        },
      },
    },
    after: globs(`For ${TOOLS}, narrows the rule to conversations that hold a result of one of these tools.`),
    afterInjection: {
      description: `For ${TOOLS}, narrows the rule to conversations in which a tool result scores at least this much for injection.`,
      type: 'number',
      exclusiveMinimum: 0,
      maximum: 1,
    },
    kind: {
      description: `For ${fieldOwners('kind')}, the kind of personal data that the rule defines: a lower-case word, with \`_\` between words, that is not built in. Its placeholders are \`[CASE_NUMBER_1]\`.`,
      type: 'string',
      minLength: 1,
      maxLength: MAXIMUM_KIND_CHARACTERS,
    },
    context: {
      description: `For ${fieldOwners('context')}, words of which one must be within 64 characters before a value or 32 after it, as a whole word, ignoring case.`,
      type: 'array',
      minItems: 1,
      maxItems: MAXIMUM_CONTEXT_WORDS,
      items: { description: 'A word.', type: 'string', minLength: 1, maxLength: MAXIMUM_CONTEXT_CHARACTERS },
    },
    checksum: {
      description: `For ${fieldOwners('checksum')}, check digits that the letters and digits of a value must have: ${CHECKSUM_FORMS}.`,
      enum: [...CHECKSUMS],
    },
    except: {
      description: `For ${fieldOwners('except')}, values that the rule leaves alone: RE2 expressions, each matching a whole value as it is written, in any case; \`samples\` for published ones (documentation addresses, example.com, 555-01xx, example keys of AWS, test cards).`,
      type: 'array',
      minItems: 1,
      maxItems: MAXIMUM_EXCEPTIONS,
      items: {
        description: 'An expression, or `samples`.',
        type: 'string',
        minLength: 1,
        maxLength: MAXIMUM_EXCEPTION_CHARACTERS,
      },
    },
    placeholder: {
      description: `For ${fieldOwners('placeholder')} with redact, the word in the placeholders of its matches, in capitals. Default: KEYWORD, as in \`[KEYWORD_1]\`.`,
      type: 'string',
      minLength: 1,
      maxLength: MAXIMUM_KIND_CHARACTERS,
    },
    placeholders: {
      description: `For ${typeNames(({ replaces }) => replaces === true)} with redact or restore, how values are replaced: ${STYLES}. Default: \`pii.placeholders\` of the configuration.`,
      enum: [...PLACEHOLDER_STYLES],
    },
    action: {
      description: `block: refuse the call or its answer. monitor: report what block would refuse, and let it pass. For tool_access also remove (take the definition out of the request; a call of it is refused). For keyword_block also redact (replace each match by a placeholder). For pii and pii_pattern also redact (the default for personal data), restore (redact in the prompt and put the values back in the answer; values new in the answer are redacted), pseudonym (a name from a keyed hash, the same in every call) and allow. Required, except for ${typeNames(({ actions }) => actions.length === 0)}, which has none.`,
      enum: [...RULE_ACTIONS],
    },
    restore: {
      description:
        'For the action pseudonym, whether values of the prompt are put back in the answer where it has their pseudonyms.',
      type: 'boolean',
    },
    enabled: { description: 'A disabled rule is listed and has no effect.', type: 'boolean', default: true },
    description: {
      description: 'For readers: the purpose of the rule and its owner.',
      type: 'string',
      maxLength: MAXIMUM_DESCRIPTION_CHARACTERS,
    },
    match: {
      description: 'Limits the rule to some calls; without it the rule applies to every call.',
      type: 'object',
      additionalProperties: false,
      properties: {
        models: globs("Globs over the requested model's name, ignoring case."),
        keys: globs("Globs over the API key's name."),
        labels: {
          ...TERM_SCHEMAS.labels,
          description: 'Labels of the API key, each with exactly this value.',
          minProperties: 1,
        },
        direction: {
          description: 'Prompts (request), answers (response) or both.',
          enum: ['request', 'response', 'both'],
          default: 'both',
        },
        apis: {
          description: 'The APIs that are called; one is enough.',
          type: 'array',
          minItems: 1,
          uniqueItems: true,
          items: { description: 'An API.', enum: [...API_NAMES] },
        },
        parts: {
          description: `For ${typeNames(({ readsTexts }) => readsTexts === true)}, the parts of a call whose texts the rule looks at: user; system (instructions, tool definitions and everything outside messages); tool_result (results of tools, and quoted documents); assistant (earlier answers with their tool calls, and the answer itself). All when left out.`,
          type: 'array',
          minItems: 1,
          uniqueItems: true,
          items: { description: 'A part.', enum: [...TEXT_PARTS] },
        },
      },
    },
  },
}

/** The namespaces of rules: a list names at least one. */
export const RULE_NAMESPACES_SCHEMA = { ...NAMESPACES_SCHEMA, minItems: 1 }

export const RULES_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Sidegate policy rules',
  description: 'A file of policy rules. Every file of the folder is read, in the order of file names.',
  type: 'object',
  additionalProperties: false,
  required: ['rules'],
  properties: {
    namespaces: {
      ...RULE_NAMESPACES_SCHEMA,
      description:
        'At a hub, globs of the namespaces whose sidecars get the rules of the file: `*` matches any characters, `?` one. Without a list every sidecar gets them. A gateway refuses it.',
    },
    rules: {
      description: 'The rules, in the order in which they are listed and reported.',
      type: 'array',
      maxItems: MAXIMUM_RULES_A_FILE,
      items: RULE_SCHEMA,
    },
  },
}
