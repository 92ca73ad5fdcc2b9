import type { Db } from '../../database/pool.ts'
import { requireSealedValue } from '../../database/sealed-value.ts'
import type { KeyRing } from '../../kit/key-ring.ts'
import { type LinkBase, type LinkSettings, planLinkBase } from '../../kit/link-base.ts'
import { createLinkTokens, type LinkTokens } from '../../kit/link-token.ts'

/** Everything that the links in messages are made of. */
export interface Links {
  /** Null if the address of the service is not set. */
  base: LinkBase | null
  tokens: LinkTokens
}

export async function openLinks(options: {
  db: Db
  keyRing: KeyRing
  config: LinkSettings
  /** The address at which this service is reached, known once it listens. */
  baseUrl(): string
}): Promise<Links> {
  const { db, keyRing, config, baseUrl } = options
  // Not derived from the key ring, whose keys change while links must last.
  const key = await requireSealedValue(db, keyRing, 'link_key')
  const tokens = createLinkTokens(key)
  // The people of a sandbox reach the service where it listens.
  if (config.baseUrl === null && config.sandboxUrl !== null)
    return {
      tokens,
      get base() {
        return planLinkBase({ ...config, baseUrl: baseUrl() })
      },
    }
  return { tokens, base: planLinkBase(config) }
}
