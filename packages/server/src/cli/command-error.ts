import { ConfigError } from '../config.ts'
import { DataFolderInUse } from '../database/embedded/embedded.ts'
import { PostgresUnavailable } from '../database/embedded/postgres-binaries.ts'
import { PoolerUnsuitable } from '../database/pooler.ts'
import { MigrationRefused } from '../database/schema-fit.ts'
import { findShortage } from '../database/shortage.ts'
import { DatabaseUnavailable } from '../database/unavailable.ts'
import { UnknownHost } from '../http/listen.ts'
import { StorageUnavailable } from '../kit/blobs/object-store.ts'
import { KeyRingError } from '../kit/key-ring.ts'
import { scrub } from '../kit/scrub.ts'
import { RedisRefused } from '../limits/redis/connection.ts'
import { MarkRefused } from '../start/blob-mark.ts'
import { SandboxUnusable } from '../start/stand-ins.ts'

/** A refusal of a command, in words for its user. */
export class CommandError extends Error {
  override name = 'CommandError'
}

const IN_WORDS = [
  CommandError,
  ConfigError,
  DataFolderInUse,
  MigrationRefused,
  PoolerUnsuitable,
  PostgresUnavailable,
  KeyRingError,
  RedisRefused,
  MarkRefused,
  SandboxUnusable,
  StorageUnavailable,
  UnknownHost,
]

/** The text to print for an error: its explanation for people, otherwise where it was thrown. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return 'Waxwing failed.'
  if (error instanceof DatabaseUnavailable) return explain(error.cause)
  if (IN_WORDS.some(kind => error instanceof kind)) return scrub(error.message)
  return scrub(findShortage(error)?.message ?? explainSystemError(error) ?? error.stack ?? error.message)
}

function explainSystemError(error: Error): string | null {
  const { code, syscall, address, port } = error as NodeJS.ErrnoException & {
    address?: string
    port?: number
  }
  if (code === 'EADDRINUSE') {
    return `${address}:${port} is in use by another program. Choose another port: "waxwing serve --help" lists the settings.`
  }
  if (code === 'EADDRNOTAVAIL' || (syscall === 'listen' && code === 'EACCES')) {
    return `Waxwing may not listen on ${address}:${port}. Set WAXWING_HOST or WAXWING_PORT to another.`
  }
  const isDatabase = syscall === 'connect' || syscall === 'getaddrinfo' || /^(28|3D)/.test(code ?? '')
  return isDatabase ? `The database of DATABASE_URL cannot be reached: ${error.message}` : null
}
