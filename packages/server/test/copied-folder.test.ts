import { execFile } from 'node:child_process'
import { rename, rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { readConfig } from '../src/config.ts'
import { silentLog } from '../src/kit/log.ts'
import { openInstallation } from '../src/start/database.ts'
import { makePreparedFolder } from './prepared-folder.ts'

const run = promisify(execFile)

interface Feed {
  epoch: string
  next: bigint
}

/** Opens an installation as a starting service does, takes ids of events, and closes it. */
async function useFeed(dataDir: string, { ids = 1, before = '' } = {}): Promise<Feed> {
  const config = readConfig({ WAXWING_DATA_DIR: dataDir }, { isRoot: false, isTerminal: false })
  await using installation = await openInstallation({ config, as: 'service', log: silentLog })
  const { db } = installation.database
  const { rows } = await sql<{ epoch: string; next: string }>`
    select epoch, max(nextval('event_id'))::text as next from feed_epoch, generate_series(1, ${ids}) group by epoch
  `.execute(db)
  if (before !== '') await sql.raw(before).execute(db)
  return { epoch: rows[0]?.epoch ?? '', next: BigInt(rows[0]?.next ?? 0) }
}

test('a copy of the data folder that is put back starts a new epoch, once', async () => {
  await using folder = await makePreparedFolder()
  const dataDir = folder.path
  await useFeed(dataDir)
  await run('cp', ['--archive', dataDir, `${dataDir}.copy`])
  const read = await useFeed(dataDir, { ids: 267 })
  await rm(dataDir, { recursive: true })
  await rename(`${dataDir}.copy`, dataDir)

  const copy = await useFeed(dataDir)
  expect(copy.epoch).not.toBe(read.epoch)
  expect(copy.next).toBeGreaterThan(read.next)
  expect((await useFeed(dataDir)).epoch).toBe(copy.epoch)
})

test('a restart, a move and an upgrade start no epoch', async () => {
  await using folder = await makePreparedFolder()
  const dataDir = folder.path
  // As an earlier release leaves it, which did not record the folder.
  const forget = `update feed_epoch set place = place - 'inode' - 'birth'`
  const first = await useFeed(dataDir, { before: forget })
  expect((await useFeed(dataDir)).epoch).toBe(first.epoch)
  const moved = `${dataDir}.moved`
  await rename(dataDir, moved)
  const after = await useFeed(moved)
  await rename(moved, dataDir)
  expect(after.epoch).toBe(first.epoch)
})
