import { ObjectMissing, StorageUnavailable, type Trouble } from '../object-store.ts'

const NOT_TRUSTED =
  /^(?:CERT_|ERR_TLS_CERT|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT|UNABLE_TO_(?:GET_ISSUER|VERIFY))/
const NO_CONNECTION =
  /^(?:ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|EPIPE|ETIMEDOUT|EPROTO)$/
const ELSEWHERE = new Set([
  'PermanentRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
])
const CAUSES_MAX = 5

/**
 * The error of a request to the bucket of that name, in our words. Only the answer that the key (or the upload) does not
 * exist means that an object is missing.
 */
export function toStorageError(error: unknown, { name, key }: { name: string; key: string }): Error {
  if (error instanceof ObjectMissing || error instanceof StorageUnavailable) return error
  const { code, status, text, region } = factsOf(error)
  if (code === 'NoSuchKey' || code === 'NoSuchUpload') return new ObjectMissing(key, { cause: error })
  const as = (trouble: Trouble, message: string) => new StorageUnavailable(trouble, message, { cause: error })
  if (code === 'NoSuchBucket') {
    return as('refused', `There is no such thing as ${name}. Create it, or correct WAXWING_S3_BUCKET.`)
  }
  if (code === 'CredentialsProviderError') {
    return as(
      'refused',
      'Set WAXWING_S3_ACCESS_KEY_ID and WAXWING_S3_SECRET_ACCESS_KEY: no credentials were found.',
    )
  }
  if (ELSEWHERE.has(code) || status === 301) {
    const where = region === null ? 'of another region' : `of the region ${region}`
    return as(
      'refused',
      `The store says that ${name} is ${where}. Correct WAXWING_S3_REGION or WAXWING_S3_ENDPOINT.`,
    )
  }
  if (status === 401 || status === 403) {
    return as(
      'refused',
      `The store refuses access to ${name} (${code}). Correct WAXWING_S3_ACCESS_KEY_ID and ` +
        'WAXWING_S3_SECRET_ACCESS_KEY; the key must be allowed to get, put and delete objects and to list the bucket.',
    )
  }
  if (NOT_TRUSTED.test(code)) {
    return as(
      'refused',
      `The certificate of ${name} is not trusted (${code}). Put its authority into WAXWING_CA_FILE.`,
    )
  }
  if (code === 'AbortError' || code === 'TimeoutError') {
    return as('unreachable', `There was no answer of ${name} in time.`)
  }
  if (status === null && NO_CONNECTION.test(code)) {
    return as(
      'unreachable',
      `No connection to ${name} (${code}). Does it run, and is WAXWING_S3_ENDPOINT right?`,
    )
  }
  return as('failing', `A request to ${name} failed: ${status ?? 'no status'}, ${code || text}.`)
}

function factsOf(error: unknown) {
  let code = ''
  let text = ''
  let cause = error
  for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth += 1) {
    const own = 'code' in cause && typeof cause.code === 'string' ? cause.code : ''
    code ||= own || (cause.name === 'Error' ? '' : cause.name)
    text ||= cause.message
    // Of Node, for a host with several addresses.
    cause = cause instanceof AggregateError ? cause.errors[0] : cause.cause
  }
  const meta = error as { $metadata?: { httpStatusCode?: number }; Region?: string } | null
  return { code, text, status: meta?.$metadata?.httpStatusCode ?? null, region: meta?.Region ?? null }
}
