import path from 'node:path'
import { DatabaseError } from 'pg'
import { diskTroubleIn, diskTroubleOf, describeDiskTrouble } from '../kit/disk-room.ts'

/** A resource that the service has run out of. When it is available again, the service works again without changes. */
export interface Shortage {
  /** The shortage and its remedy, in words for people. */
  message: string
  /** Whether the database accepts no writes until the shortage ends. */
  stopsWrites: boolean
}

const DATABASE = 'the database'
/** The error of a write to an open file does not name the file. */
const FILES = "the service's files"
const CAUSES_MAX = 5

/** SQLSTATE class 53, insufficient resources, and the errors of a read-only database. */
const OF_DATABASE: Record<string, Shortage> = {
  '53000': { message: 'The database has run out of a resource. Its log says which.', stopsWrites: false },
  '53100': { message: describeDiskTrouble(DATABASE, 'is full'), stopsWrites: true },
  '53200': {
    message: 'The database has run out of memory. Give its machine more, or allow it fewer connections.',
    stopsWrites: false,
  },
  '53300': {
    message:
      'The database accepts no more connections. Raise its max_connections, or run fewer processes on it.',
    stopsWrites: false,
  },
  '53400': {
    message: 'The database has reached a limit that its configuration sets. Its log says which.',
    stopsWrites: false,
  },
  '25006': {
    message:
      'The database can only be read. Point DATABASE_URL to the primary server; ' +
      'where it is, its disk may be nearly full.',
    stopsWrites: true,
  },
}

/** The shortage that an error reports, or null if it has another cause. */
export function findShortage(error: unknown): Shortage | null {
  let cause = error
  for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth += 1) {
    const found = cause instanceof DatabaseError ? ofDatabase(cause) : ofFiles(cause)
    if (found) return found
    cause = cause.cause
  }
  return null
}

/** Returns a log line that says what failed and what was short, if anything. */
export function failedFor(what: string, error: unknown): string {
  const shortage = findShortage(error)
  return shortage ? `${what}. ${shortage.message}` : what
}

/** Has the error code of a full disk, but means the shared memory for parallel queries. */
const SHARED_MEMORY: Shortage = {
  message:
    'The database has run out of shared memory. Give /dev/shm more room; a container has a setting for it, such as ' +
    '--shm-size.',
  stopsWrites: false,
}

function ofDatabase({ code = '', message }: DatabaseError): Shortage | null {
  if (/shared memory segment/.test(message)) return SHARED_MEMORY
  if (OF_DATABASE[code]) return OF_DATABASE[code]
  // PostgreSQL has no SQLSTATE for a quota, or for a disk that became read-only.
  const trouble = diskTroubleIn(message)
  return trouble && { message: describeDiskTrouble(DATABASE, trouble), stopsWrites: true }
}

function ofFiles(error: Error): Shortage | null {
  const trouble = diskTroubleOf(error)
  if (!trouble) return null
  const file = 'path' in error && typeof error.path === 'string' ? error.path : null
  const what = file === null ? FILES : path.dirname(file)
  return { message: describeDiskTrouble(what, trouble), stopsWrites: false }
}
