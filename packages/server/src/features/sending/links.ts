import type { Db } from '../../database/pool.ts'
import { requireSealedValue } from '../../database/sealed-value.ts'
import type { KeyRing } from '../../kit/key-ring.ts'
import { type LinkBase, planLinkBase } from '../../kit/link-base.ts'
import { createLinkTokens, type LinkTokens } from '../../kit/link-token.ts'

/** What the links in messages are made of. */
export interface Links {
  /** Null if the service does not know its address. */
  base: LinkBase | null
  tokens: LinkTokens
}

export async function openLinks(options: {
  db: Db
  keyRing: KeyRing
  config: { linksUrl: string | null; baseUrl: string | null }
}): Promise<Links> {
  const { db, keyRing, config } = options
  // Not derived from the key ring, whose keys change while links must last.
  const key = await requireSealedValue(db, keyRing, 'link_key')
  return { base: planLinkBase(config), tokens: createLinkTokens(key) }
}
