import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runNemesis } from './run.ts'

/** `npm run nemesis` runs longer, with more accounts and other seeds. */
const SHORT = { seed: 1, seconds: 8, accounts: 5, isShort: true }

test(
  'while processes, the database and networks fail, every promise is kept',
  { timeout: 600_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'waxwing-nemesis-'))
    const said: string[] = []
    const result = await runNemesis({
      ...SHORT,
      layout: 'together',
      stores: 'redis-and-s3',
      folder,
      say: line => void said.push(line),
    })
    const { violations, unsettled, counts } = result
    expect({ violations, unsettled }, `${said.join('\n')}\n\nLogs and history: ${folder}`).toEqual({
      violations: [],
      unsettled: [],
    })
    expect(counts['requests answered with a success']).toBeGreaterThan(20)
    expect(counts['faults']).toBeGreaterThan(3)
    await rm(folder, { recursive: true })
  },
)
