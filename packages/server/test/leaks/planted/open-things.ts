import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Client } from 'pg'
import type { Kind } from '../ledger.ts'

export const DATABASE = process.env['PLANTED_DATABASE'] ?? ''

/** Opens a thing of each kind but a lock, which needs a session. */
export const OPEN: Record<Exclude<Kind, 'advisory lock'>, () => unknown> = {
  // It ends with this process, whose end closes its input.
  'child process': () => spawn(process.execPath, ['-e', 'process.stdin.resume()']),
  'database session': () => new Client({ connectionString: DATABASE }).connect(),
  'listening socket': () => once(createServer().listen(0, '127.0.0.1'), 'listening'),
  'temporary folder': () => mkdtemp(path.join(tmpdir(), 'waxwing-planted-')),
  timer: () => setInterval(() => {}, 60_000),
}
