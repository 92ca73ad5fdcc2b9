import { createHmac } from 'node:crypto'

const NAMES_KEPT_MAX = 10_000
/** Enough that two names never meet. */
const DIGEST_BYTES = 16

/**
 * Returns the key in Redis of a name, such as `credential:<id>`. Only digests leave the service: no id, address or key
 * can be read in Redis, and installations that share a server cannot meet. All keys have one hash tag, so that a script
 * may use several of them behind a proxy of a cluster.
 */
export function createNames(secret: Buffer): (name: string) => string {
  const digest = (name: string) =>
    createHmac('sha256', secret).update(name).digest().subarray(0, DIGEST_BYTES).toString('base64url')
  const prefix = `waxwing:{${digest('installation').slice(0, 8)}}:`
  const kept = new Map<string, string>()
  return name => {
    const known = kept.get(name)
    if (known !== undefined) return known
    const made = prefix + digest(name)
    if (kept.size >= NAMES_KEPT_MAX) kept.clear()
    kept.set(name, made)
    return made
  }
}
