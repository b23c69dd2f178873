// Folders, made where they are missing.

import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * As `mkdir -p`. Node's own goes on for ever where the system makes no folders, as in /proc.
 * @throws the system's error
 */
export function makeFolder(path: string, mode: number): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return
  const parent = dirname(path)
  if (parent !== path) makeFolder(parent, mode)
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    // Somebody else may have been quicker.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
  }
}
