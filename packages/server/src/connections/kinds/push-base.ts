import { isPublicBase } from '../../kit/link-base.ts'

export interface PushBase {
  /** The address of the service. Known once the API listens. */
  url(): string
  /** Whether a sandbox plays the provider, which reaches any address. */
  isPlayed: boolean
}

/**
 * The address of a path to which a provider pushes, below the path of the base, under which a proxy may serve the API. Null
 * if the provider cannot reach it.
 */
export function pushAddress({ url, isPlayed }: PushBase, path: string): string | null {
  const base = url()
  return isPlayed || isPublicBase(base) ? base.replace(/\/+$/, '') + path : null
}
