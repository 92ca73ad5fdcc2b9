import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { note } from './ledger.ts'

/** Notes each temporary folder. */
export function watchFolders(): void {
  const { mkdtempSync } = fs
  const { mkdtemp } = fs.promises
  /** Before it is made, while the code that makes it is on the stack. */
  const noteFolder = () => {
    let made = ''
    note(
      'temporary folder',
      () => made,
      () => made !== '' && fs.existsSync(made),
    )
    return (folder: string) => {
      made = folder
      return folder
    }
  }
  fs.mkdtempSync = ((prefix: string) => noteFolder()(mkdtempSync(prefix))) as typeof mkdtempSync
  fs.promises.mkdtemp = ((prefix: string) => {
    const setFolder = noteFolder()
    return mkdtemp(prefix).then(setFolder)
  }) as typeof mkdtemp
  syncBuiltinESMExports()
}
