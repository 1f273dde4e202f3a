%% Rudy, the little server of KTH's course ID2201, as its students hand it in: one process that takes one connection
%% after another, receives once, parses what came as a list of characters, waits, answers, and closes.
%%
%% erl -noinput -pa FOLDER -run rudy main PORT DELAY_MS
-module(rudy).
-export([main/1]).

main([Port, DelayMs]) ->
    %% In a process of its own, so that the system it is started by can go on, and stop it.
    spawn(fun() -> listen(list_to_integer(Port), list_to_integer(DelayMs)) end).

listen(Port, DelayMs) ->
    %% The queue of connections that wait is Erlang's default: 5.
    Options = [list, {active, false}, {reuseaddr, true}, {ip, {127, 0, 0, 1}}],
    case gen_tcp:listen(Port, Options) of
        {ok, Listener} ->
            io:format("listening on http://127.0.0.1:~w/~n", [Port]),
            serve(Listener, DelayMs);
        {error, Reason} ->
            io:format(standard_error, "can't listen on port ~w: ~p~n", [Port, Reason]),
            halt(1)
    end.

serve(Listener, DelayMs) ->
    case gen_tcp:accept(Listener) of
        {ok, Client} ->
            handle(Client, DelayMs),
            gen_tcp:close(Client);
        {error, _} ->
            %% The client left while it waited.
            ok
    end,
    serve(Listener, DelayMs).

handle(Client, DelayMs) ->
    case gen_tcp:recv(Client, 0) of
        {ok, Text} ->
            {Path, _Fields} = parse(Text),
            delay(DelayMs),
            gen_tcp:send(Client, page(Path));
        {error, _} ->
            ok
    end.

delay(0) -> ok;
delay(Ms) -> timer:sleep(Ms).

%% No length and no word about the connection: its end is the end of the page.
page(Path) ->
    "HTTP/1.1 200 OK\r\n\r\n<html><head><title>rudy</title></head><body>" ++ Path ++ "</body></html>\n".

%% The path and the header fields of a request that came in one piece.
parse(Text) ->
    {"GET", AfterMethod} = until(" ", Text),
    {Path, AfterPath} = until(" ", AfterMethod),
    {_Version, Rest} = until("\r\n", AfterPath),
    {Path, fields(Rest)}.

fields(Text) ->
    case until("\r\n", Text) of
        {[], _Body} -> [];
        {Field, Rest} -> [Field | fields(Rest)]
    end.

%% What stands before a mark, and what behind it.
until(Mark, Text) -> until(Mark, Text, []).

until(Mark, Text, Before) ->
    case lists:prefix(Mark, Text) of
        true -> {lists:reverse(Before), lists:nthtail(length(Mark), Text)};
        false -> until(Mark, tl(Text), [hd(Text) | Before])
    end.
