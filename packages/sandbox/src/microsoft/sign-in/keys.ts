import { openSigningKeys, type SigningKeys } from '../../signing/keys.ts'
import type { Cloud } from '../clouds.ts'

/** The keys with which each sign-in signs its tokens. The two government clouds share theirs. */
export interface CloudKeys {
  at(loginHost: Cloud['loginHost']): Promise<SigningKeys>
  /** Signs with new keys from now on; those before them stay published. */
  rotate(): Promise<void>
}

/** Keys are made when a sign-in is first used: most worlds use one of them. */
export function openCloudKeys(): CloudKeys {
  const keys = new Map<string, Promise<SigningKeys>>()
  return {
    at(loginHost) {
      const made = keys.get(loginHost) ?? openSigningKeys()
      keys.set(loginHost, made)
      return made
    },
    async rotate() {
      for (const made of keys.values()) await (await made).rotate()
    },
  }
}
