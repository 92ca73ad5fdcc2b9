import { type Config, readConfig } from '../config.ts'
import type { Db } from '../database/pool.ts'
import type { KeyRing } from '../kit/key-ring.ts'
import { openLog } from '../kit/log.ts'
import { openInstallation } from '../start/database.ts'
import { findNpmParent, type NpmParent } from './npm-parent.ts'

/** The resources of a command. Dispose it at the end. */
export interface CommandConnection extends AsyncDisposable {
  /** The migrated database of the installation. */
  db: Db
  keyRing: KeyRing
  config: Config
}

export type Connect = () => Promise<CommandConnection>

const CONNECTIONS_MAX = 4

/** The settings of this process. Only this file reads its environment. */
export function readProcessConfig(): Config {
  return readConfig(process.env, {
    isRoot: process.getuid?.() === 0,
    isTerminal: process.stdout.isTTY,
  })
}

/** The npm that waits for this process; null if it was started in another way. */
export function findStarter(): NpmParent | null {
  return findNpmParent(process.env, process.ppid)
}

/** Uses the database of a running service, or opens it for the duration of the command. */
export const connect: Connect = async () => {
  const config = readProcessConfig()
  // Standard output is for the result of the command.
  const log = openLog({ level: 'info', format: 'pretty', destination: process.stderr })
  const installation = await openInstallation({ config, as: 'command', log, connectionsMax: CONNECTIONS_MAX })
  const { database, keyRing } = installation
  return {
    db: database.db,
    keyRing,
    config,
    [Symbol.asyncDispose]: () => installation[Symbol.asyncDispose](),
  }
}
