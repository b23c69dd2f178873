// `sidegate keys`: API keys from the shell, beside a running gateway or a stopped one.

import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { systemClock } from '../core/clock.ts'
import { readConfig } from '../core/config.ts'
import { type KeyRecord, openStore, type Store } from '../store/store.ts'
import { type Command, DEFAULT_CONFIG, type ExitCode, printProblems, UsageError } from './command.ts'
