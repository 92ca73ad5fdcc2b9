import { DatabaseError } from 'pg'
import { describe, expect, test } from 'vitest'
import { findShortage } from './shortage.ts'
import { DatabaseUnavailable } from './unavailable.ts'

function databaseError(code: string, message = 'as PostgreSQL says it') {
  return Object.assign(new DatabaseError(message, message.length, 'error'), { code })
}

function fileError(code: string, path?: string) {
  return Object.assign(new Error(`${code}: as Node.js says it`), { code, ...(path ? { path } : {}) })
}

describe('findShortage', () => {
  test.each([
    [databaseError('53100'), 'The disk of the database is full.', true],
    [
      databaseError(
        '53100',
        'could not resize shared memory segment "/PostgreSQL.1" to 8 bytes: No space left on device',
      ),
      'The database has run out of shared memory.',
      false,
    ],
    [databaseError('53200'), 'The database has run out of memory.', false],
    [databaseError('53300'), 'The database accepts no more connections.', false],
    [
      new DatabaseUnavailable(databaseError('53300'), false),
      'The database accepts no more connections.',
      false,
    ],
    [
      databaseError('XX000', 'could not extend file "base/1/2": Disk quota exceeded'),
      'The disk of the database has no quota left.',
      true,
    ],
    [databaseError('25006'), 'The database can only be read.', true],
    [fileError('ENOSPC', '/srv/waxwing/blobs/aa/bb'), 'The disk of /srv/waxwing/blobs/aa is full.', false],
    [fileError('ENOSPC'), "The disk of the service's files is full.", false],
    [fileError('EDQUOT', '/srv/x'), 'The disk of /srv has no quota left.', false],
    [
      new Error('wrapped', { cause: fileError('EROFS', '/srv/x') }),
      'The disk of /srv can only be read.',
      false,
    ],
  ])('%s: %s', (error, message, stopsWrites) => {
    const shortage = findShortage(error)
    expect(shortage?.message.startsWith(`${message} `)).toBe(true)
    expect(shortage?.stopsWrites).toBe(stopsWrites)
  })

  test.each([
    databaseError('23505'),
    fileError('ENOENT', '/srv/x'),
    new Error('No space left on device'),
    'text',
    null,
  ])('finds no shortage in %s', error => expect(findShortage(error)).toBeNull())
})
