import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { addChecksums, CHECKSUMS, findChanged } from '../../test/migration-checksums.ts'
import { readMigrations } from './migration-file.ts'

test('no migration was changed after its checksum was committed', async () => {
  expect(findChanged(await readFile(CHECKSUMS, 'utf8'), await readMigrations())).toEqual([])
})

describe('findChanged', () => {
  const one = { name: '0001_one', checksum: 'a' }
  const two = { name: '0002_two', checksum: 'b' }

  test.each([
    ['a migration that was changed', '0001_one b\n0002_two b\n', ['0001_one was changed.']],
    ['a migration that was deleted', '0000_gone x\n0001_one a\n0002_two b\n', ['0000_gone is gone.']],
    ['a migration without a line', '0001_one a\n', ['0002_two has no line.']],
    ['two lines that a merge left', '0002_two c\n0001_one a\n0002_two b\n', ['0002_two was changed.']],
    ['nothing, in any order', '0002_two b\n0001_one a\n', []],
  ])('finds %s', (_, committed, found) => {
    const starts = findChanged(committed, [one, two]).map(problem => /^.*?\./.exec(problem)?.[0])
    expect(starts).toEqual(found)
  })

  test('adds lines of new migrations, and changes none', () => {
    expect(addChecksums('0002_two c\n', [one, two])).toBe('0001_one a\n0002_two c\n')
  })
})
