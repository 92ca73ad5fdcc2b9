import { InvalidInput } from '../world/invalid-input.ts'
import type { PlayedProvider } from '../world/provider.ts'
import type { World } from '../world/world.ts'

/** The provider of this name. Throws `InvalidInput` if the sandbox does not play it. */
function requirePlayed(world: World, name: string): PlayedProvider {
  const played = world.providers.get(name)
  if (!played) throw new InvalidInput(`provider: the sandbox does not play ${name}.`)
  return played
}

/** The provider that input names, or else that of the user; without both the first. */
export function chooseProvider(
  world: World,
  { provider, user }: { provider?: string | undefined; user?: string | undefined },
): PlayedProvider {
  if (provider !== undefined) return requirePlayed(world, provider)
  const own = user === undefined ? undefined : world.users.find(user)?.provider
  const [first = ''] = world.providers.keys()
  return requirePlayed(world, own ?? first)
}
