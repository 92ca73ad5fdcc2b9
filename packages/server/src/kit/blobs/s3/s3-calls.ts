import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type * as Sdk from '@aws-sdk/client-s3'
import { trustAlso } from '../../authorities.ts'
import type { Secret } from '../../secret.ts'
import { toStorageError } from './s3-trouble.ts'

export interface S3Settings {
  bucket: string
  /** Null for AWS itself. */
  endpoint: string | null
  region: string
  /** Null to look for credentials as AWS's own programs do. */
  credentials: { accessKeyId: string; secretAccessKey: Secret } | null
  /** Without slashes around it; empty for the whole bucket. */
  prefix: string
  isPathStyle: boolean
  /** PEM of authorities to trust in addition to the public ones. */
  authorities: string | null
}

/**
 * Connections of one process to its bucket, far more than are in use. A request that waits for a free one counts as
 * unanswered after `CONNECT_SECONDS`.
 */
const CONNECTIONS_MAX = 1000
const IDLE_CONNECTIONS_MAX = 50
const ATTEMPTS_MAX = 3
const CONNECT_SECONDS = 3
interface Patience {
  /** Longest wait for the answer to one attempt, from its beginning. */
  attemptSeconds: number
  /** Longest wait for an answer through all attempts. */
  callSeconds: number
}
const PATIENCE: Patience = { attemptSeconds: 10, callSeconds: 25 }
/** For content that takes time to send: a part of 5 MiB needs 0.7 Mbit/s. */
const LARGE_BYTES = 64 * 1024
const LARGE_PATIENCE: Patience = { attemptSeconds: 60, callSeconds: 150 }

type Client = InstanceType<typeof Sdk.S3Client>

/** Sends requests to one bucket, within bounds, and throws only `ObjectMissing` and `StorageUnavailable`. */
export interface S3Calls {
  readonly sdk: typeof Sdk
  readonly name: string
  /** The bucket and the whole key, for the input of a command. */
  at(key: string): { Bucket: string; Key: string }
  readonly bucket: string
  /** The prefix with its slash. */
  readonly prefix: string
  send: Client['send']
}

/** Loads the SDK, which takes time and memory, only in an installation that uses a bucket. */
export async function openS3Calls(settings: S3Settings): Promise<S3Calls> {
  const sdk = await import('@aws-sdk/client-s3')
  const { bucket, endpoint, region, credentials, isPathStyle, authorities } = settings
  const prefix = settings.prefix === '' ? '' : `${settings.prefix}/`
  const name = `the bucket ${bucket}${endpoint === null ? '' : ` at ${endpoint}`}`
  const connections = { keepAlive: true, maxSockets: CONNECTIONS_MAX, maxFreeSockets: IDLE_CONNECTIONS_MAX }
  const client = new sdk.S3Client({
    region,
    ...(endpoint === null ? {} : { endpoint }),
    forcePathStyle: isPathStyle,
    ...(credentials === null
      ? {}
      : {
          credentials: {
            accessKeyId: credentials.accessKeyId,
            secretAccessKey: credentials.secretAccessKey.reveal(),
          },
        }),
    maxAttempts: ATTEMPTS_MAX,
    // Many stores refuse the checksums that the SDK adds by default. The seal of each object is a better one.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_SECONDS * 1000,
      throwOnRequestTimeout: true,
      httpAgent: new HttpAgent(connections),
      httpsAgent: new HttpsAgent({ ...connections, secureContext: trustAlso(authorities) }),
    },
  })
  const send = async (command: Parameters<Client['send']>[0]) => {
    const { attemptSeconds, callSeconds } = patienceFor(command.input)
    const late = new AbortController()
    // Cleared at the answer: the content of an object may be read for as long as its reader takes.
    const timer = setTimeout(() => late.abort(), callSeconds * 1000)
    try {
      const requestTimeout = attemptSeconds * 1000
      return await client.send(command, { abortSignal: late.signal, requestTimeout })
    } catch (error) {
      throw toStorageError(error, { name, key: keyOf(command.input) })
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    sdk,
    name,
    bucket,
    prefix,
    at: key => ({ Bucket: bucket, Key: `${prefix}${key}` }),
    send: send as Client['send'],
  }
}

function patienceFor(input: object): Patience {
  const bytes = 'ContentLength' in input ? Number(input.ContentLength) : 0
  return bytes > LARGE_BYTES ? LARGE_PATIENCE : PATIENCE
}

function keyOf(input: object): string {
  return 'Key' in input && typeof input.Key === 'string' ? input.Key : ''
}
