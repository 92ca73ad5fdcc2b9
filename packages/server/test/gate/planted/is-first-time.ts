import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** Whether this is the first time in a folder that the run is given. */
export function isFirstTime(name: string): boolean {
  const mark = path.join(process.env['PLANTED_FOLDER'] ?? '', name)
  if (existsSync(mark)) return false
  writeFileSync(mark, '')
  return true
}
