import type { Check, Violation } from '../violation.ts'

/** Files that a process may have open at the end beyond those of its start, beside a connection for each account. */
const OPEN_FILES_SPARE = 60

/** I14: nothing is left behind: locks, transactions, claims of the dead, files, connections. */
export const checkResources: Check = ({ end: { resources } }) => {
  const { advisoryLocks, preparedTransactions, openTransactions, deadClaims, orphanFiles } = resources
  const { processes, activeAccounts } = resources
  const counts: Array<[number, string]> = [
    [advisoryLocks, 'advisory locks are held'],
    [preparedTransactions, 'transactions are prepared'],
    [openTransactions, 'transactions wait for their client'],
    [orphanFiles.length, `files belong to no row: ${orphanFiles.slice(0, 3).join(', ')}`],
  ]
  return [
    ...counts.filter(([count]) => count > 0).map(([count, what]) => broken(`${count} ${what}`)),
    ...deadClaims.map(what => broken(`${what} is claimed by a process that is dead`)),
    ...processes.flatMap(({ name, openFiles, openFilesAtFirst, exitedBy }) => [
      ...(exitedBy === null ? [] : [broken(`${name} ended by itself: ${exitedBy}`)]),
      ...(openFiles > openFilesAtFirst + activeAccounts + OPEN_FILES_SPARE
        ? [broken(`${name} has ${openFiles} files open, at first ${openFilesAtFirst}`)]
        : []),
    ]),
  ]
}

function broken(message: string): Violation {
  return { invariant: 'I14', message }
}
