# A message from outside, which the sandbox delivers to Ada.
printf 'Message-ID: <question-%s@example.com>\r\nFrom: Zoe <zoe@example.com>\r\nSubject: Lunch?\r\n\r\nOn Friday, perhaps?\r\n' "$(date +%s%N)" |
  curl -sSf --data-binary @- "$SANDBOX_URL/users/ada@gmail.test/messages" | jq -r '"delivered as \(.id)"'
