// Folders for the owner alone, made where they are missing: logs hold what people wrote to a model.

import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

const FOLDER_MODE = 0o700

/**
 * As `mkdir -p`. Node's own goes on for ever where the system makes no folders, as in /proc.
 * @throws the system's error
 */
export function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return
  const parent = dirname(path)
  if (parent !== path) makeFolder(parent)
  try {
    mkdirSync(path, { mode: FOLDER_MODE })
  } catch (error) {
    // Somebody else may have been quicker.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
  }
}
