import { openSigningKeys, type SigningKeys } from '../../signing/keys.ts'
import type { Cloud } from '../clouds.ts'

/** The keys with which each sign-in signs its tokens. The two government clouds share theirs. */
export interface CloudKeys {
  at(loginHost: Cloud['loginHost']): SigningKeys
  /** Signs with new keys from now on; those before them stay published. */
  rotate(): Promise<void>
}

export function openCloudKeys(): CloudKeys {
  const keys = new Map<string, SigningKeys>()
  return {
    at(loginHost) {
      const opened = keys.get(loginHost) ?? openSigningKeys('login.sandbox.test')
      keys.set(loginHost, opened)
      return opened
    },
    async rotate() {
      for (const opened of keys.values()) await opened.rotate()
    },
  }
}
