// The section `runs` of the configuration's JSON Schema.

import { section } from './schema-parts.ts'

const MEMBER = '^[A-Za-z_][A-Za-z0-9_-]{0,63}(\\.[A-Za-z_][A-Za-z0-9_-]{0,63}){0,3}$'
const HEADER = '^[a-z0-9_-]{1,64}$'

export const RUNS_SECTION = section(
  'How calls name their run: the calls of one task of an agent. The header `x-sidegate-run` comes first.',
  {
    fields: {
      description:
        'Members of a request body that name the run, with a dot between the levels. The first that holds a text counts.',
      type: 'array',
      maxItems: 16,
      uniqueItems: true,
      items: { description: 'A member, such as `metadata.run_id`.', type: 'string', pattern: MEMBER },
      default: ['metadata.run_id', 'metadata.session_id', 'prompt_cache_key'],
    },
    headers: {
      description:
        'Headers that name the run where no member does, in lower case. By default those of Codex, Claude Code and opencode.',
      type: 'array',
      maxItems: 16,
      uniqueItems: true,
      items: { description: 'A header, such as `session-id`.', type: 'string', pattern: HEADER },
      default: ['session-id', 'session_id', 'x-claude-code-session-id', 'x-session-id'],
    },
  },
)
