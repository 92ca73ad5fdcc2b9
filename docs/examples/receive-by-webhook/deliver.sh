# A message from outside, which the sandbox delivers to Ada.
printf 'From: Zoe <zoe@example.com>\r\nSubject: How are you?\r\n\r\nIt has been a while.\r\n' |
  curl -sSf --data-binary @- "$SANDBOX_URL/users/ada@gmail.test/messages" | jq -r '"delivered as \(.id)"'
