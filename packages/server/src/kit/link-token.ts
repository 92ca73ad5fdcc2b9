import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'

/** Purpose of a link. A token of one kind is unknown to the others. */
export type LinkKind = 'open' | 'click' | 'unsubscribe'

/** Makes and opens the tokens in links of messages: unguessable, authenticated, readable by anyone. */
export interface LinkTokens {
  /** Base64url of the content and 16 bytes that authenticate it. The same content always gives the same token. */
  make(kind: LinkKind, content: Uint8Array): string
  /** The content; null if the token was not made for this kind of link, or was changed. */
  open(kind: LinkKind, token: string): Buffer | null
  /** 32 bytes by which the same text is recognised again, and which reveal nothing of it without the key. */
  digest(text: string): Buffer
}

const MAC_BYTES = 16
const TOKEN_LENGTH_MAX = 2048

/** @param key 32 bytes that every process of the installation shares, and that never change */
export function createLinkTokens(key: Buffer): LinkTokens {
  const macKey = createSecretKey(key)

  function make(kind: LinkKind, content: Uint8Array): string {
    const mac = createHmac('sha256', macKey).update(`${kind}\0`).update(content).digest()
    return Buffer.concat([content, mac.subarray(0, MAC_BYTES)]).toString('base64url')
  }

  return {
    make,
    digest: text => createHmac('sha256', macKey).update('digest\0').update(text).digest(),
    open(kind, token) {
      if (token.length > TOKEN_LENGTH_MAX) return null
      const bytes = Buffer.from(token, 'base64url')
      if (bytes.length < MAC_BYTES) return null
      const content = bytes.subarray(0, bytes.length - MAC_BYTES)
      // Comparing the whole text also refuses other spellings of the same bytes.
      const expected = Buffer.from(make(kind, content))
      const given = Buffer.from(token)
      return given.length === expected.length && timingSafeEqual(given, expected) ? content : null
    },
  }
}
