// The statements of src/audit/README.md that an auditor runs with psql.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../process/program.ts'

/** The statements of the auditor's guide. */
export function statementsOfGuide(): readonly [setting: string, query: string] {
  const guide = readFileSync(join(ROOT, 'src/audit/README.md'), 'utf8')
  const [, block = ''] = /^```sql\n(.*?)^```$/ms.exec(guide) ?? []
  const [setting = '', query = ''] = block.split(/^(?=with )/m)
  return [setting, query.replace(/;\s*$/, '')]
}
