import path from 'node:path'
import { problemsOfMicrosoftApps } from './config/microsoft-apps.ts'
import { nearestSettings } from './config/misspelt.ts'
import { isPublicUrl } from './config/public-url.ts'
import { settings } from './config/settings.ts'
import type { LogFormat } from './kit/log.ts'

type Settings = typeof settings
type Read = {
  [Key in keyof Settings]:
    | ReturnType<Settings[Key]['read']>
    | (Settings[Key]['fallback'] extends null ? null : never)
}

/** The settings as the service uses them. Folders are absolute; null means that a setting was not given. */
export interface Config extends Read {
  dataDir: string
  blobDir: string
  logFormat: LogFormat
  /** Whether the data folder was given, or is the default. */
  isDataDirGiven: boolean
}

/** All mistakes in the settings, one per line. */
export class ConfigError extends Error {
  override name = 'ConfigError'
  readonly problems: string[]

  constructor(problems: string[]) {
    super(`Waxwing cannot start with these settings:\n${problems.map(line => `  - ${line}\n`).join('')}`)
    this.problems = problems
  }
}

export type Environment = Readonly<Record<string, string | undefined>>

const DATA_DIR_OF_ROOT = '/var/lib/waxwing'

/**
 * Reads the settings from an environment; an empty value counts as not given. Throws `ConfigError` with every
 * mistake, including misspelt names.
 */
export function readConfig(
  environment: Environment,
  process: { isRoot: boolean; isTerminal: boolean },
): Config {
  const problems = misspeltNames(environment)
  const read = Object.fromEntries(
    Object.entries(settings).map(([key, { name, read: parse, fallback }]) => {
      const text = environment[name]?.trim() || fallback
      try {
        return [key, text === null ? null : parse(text)]
      } catch (error) {
        problems.push(`${name} ${problemOf(error, name)}`)
        return [key, null]
      }
    }),
  ) as unknown as Read // each key has its own reader's value, or a problem that is thrown below
  if (read.port !== 0 && read.port === read.metricsPort) {
    problems.push(`${settings.metricsPort.name} must differ from ${settings.port.name}`)
  }
  problems.push(...missingTogether(read, ['googleClientId', 'googleClientSecret']))
  problems.push(
    ...missingTogether(read, ['googlePushTopic', 'googlePushSubscription', 'googlePushServiceAccount']),
  )
  problems.push(...problemsOfMicrosoftApps(read, key => settings[key].name))
  problems.push(...missingTogether(read, ['s3AccessKeyId', 's3SecretAccessKey']))
  if (read.s3Bucket === null) {
    const needless = (['s3Endpoint', 's3AccessKeyId', 's3SecretAccessKey'] as const).filter(
      key => read[key] !== null,
    )
    problems.push(
      ...needless
        .slice(0, 1)
        .map(key => `${settings.s3Bucket.name} is needed together with ${settings[key].name}`),
    )
  } else if (read.blobDir !== null) {
    problems.push(
      `${settings.blobDir.name} must not be set with ${settings.s3Bucket.name}: files are in one place or the other`,
    )
  }
  if (read.sandboxUrl !== null && read.baseUrl !== null && isPublicUrl(read.baseUrl)) {
    problems.push(
      `${settings.sandboxUrl.name} must not be set with a public ${settings.baseUrl.name}, such as ${read.baseUrl}`,
    )
  }
  if (problems.length > 0) throw new ConfigError(problems)
  const dataDir = read.dataDir ?? (process.isRoot ? DATA_DIR_OF_ROOT : path.resolve('data'))
  return {
    ...read,
    dataDir,
    isDataDirGiven: read.dataDir !== null,
    blobDir: read.blobDir ?? path.join(dataDir, 'blobs'),
    logFormat: read.logFormat ?? (process.isTerminal ? 'pretty' : 'json'),
  }
}

/** Settings that have no effect unless all of them are given. */
function missingTogether(read: Read, keys: readonly (keyof Read)[]): string[] {
  const missing = keys.filter(key => read[key] === null)
  if (missing.length === 0 || missing.length === keys.length) return []
  const given = keys.filter(key => !missing.includes(key)).map(key => settings[key].name)
  return missing.map(key => `${settings[key].name} is needed together with ${given.join(' and ')}`)
}

function problemOf(error: unknown, name: string) {
  const message = error instanceof Error ? error.message : 'is not valid'
  return message.startsWith(name) ? message.slice(name.length).trim() : message
}

/**
 * The variable in which the documentation keeps a caller's API key. It is accepted, since callers may use the command
 * line as well.
 */
const CALLERS_KEY = 'WAXWING_KEY'

const SUGGESTIONS_MAX = 3

function misspeltNames(environment: Environment): string[] {
  const known = Object.values(settings).map(({ name }) => name)
  return Object.keys(environment)
    .filter(name => name.startsWith('WAXWING_') && name !== CALLERS_KEY)
    .filter(name => !known.some(other => other === name))
    .map(name => {
      const meant = nearestSettings(name, known).slice(0, SUGGESTIONS_MAX)
      const hint = meant.length > 0 ? ` Did you mean ${meant.join(' or ')}?` : ''
      return `${name} is not a setting.${hint} "waxwing serve --help" lists all settings.`
    })
}
