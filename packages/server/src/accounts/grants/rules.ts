/** A token is replaced when about this part of its life is over. */
const RENEWED_AT = 0.8
/** So that tokens that were made together are not replaced together. */
const JITTER = 0.05
/** Bounds of the life of an access token that a provider names. */
const LIFE_SECONDS = { min: 120, max: 86_400 }
/** A token that expires sooner is not handed out. */
export const LEFT_SECONDS_MIN = 60

/** Seconds until a new access token is replaced, and until it expires. */
export function planLife(
  expiresInSeconds: number,
  random: () => number = Math.random,
): { refreshSeconds: number; lifeSeconds: number } {
  const lifeSeconds = Math.min(Math.max(expiresInSeconds, LIFE_SECONDS.min), LIFE_SECONDS.max)
  const part = RENEWED_AT + (random() * 2 - 1) * JITTER
  return { lifeSeconds, refreshSeconds: Math.min(lifeSeconds * part, lifeSeconds - LEFT_SECONDS_MIN) }
}

const PAUSE_SECONDS = { min: 1, max: 60 }

/** Seconds for which the provider is not asked again after this many failures in a row. */
export function planPause(failures: number, retryAfterSeconds: number | null, random = Math.random): number {
  const ceiling = Math.min(PAUSE_SECONDS.max, PAUSE_SECONDS.min * 2 ** Math.min(failures, 10))
  return Math.max(ceiling / 2 + (random() * ceiling) / 2, retryAfterSeconds ?? 0)
}
